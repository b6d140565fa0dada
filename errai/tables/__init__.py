"""Tables on disk: checked arrays, and checkpoints that are whole or not there."""
