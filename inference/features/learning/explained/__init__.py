"""What explainable inference concluded, and the proof of each scheme's µops."""
