"""What every request is made of, whoever it goes to."""
