"""What is to be run: the choices, the trials in order, their cost, the models they train."""
