"""Pictures: reading, folders, frozen backbones, their features and the cache of these, learning and predicting."""
