"""What matches and their logs say of how good an agent is."""
