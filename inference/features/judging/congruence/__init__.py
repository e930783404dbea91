"""How well established it is that schemes of a class behave alike, and what would establish it better."""
