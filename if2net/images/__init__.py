"""Images: reading them, computing their features with a frozen backbone, learning and predicting."""
