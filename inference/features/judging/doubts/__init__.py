"""What is doubtful in a port mapping."""
