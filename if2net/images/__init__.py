"""Images in, rows of numbers out: reading, folders, frozen backbones, extraction and the feature cache."""
