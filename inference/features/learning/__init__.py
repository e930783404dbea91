"""A core’s ports, latencies, front end and scheduler from measurements, and its model made of them."""
