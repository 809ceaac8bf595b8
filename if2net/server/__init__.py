"""The live service: `if2net serve`. A model that people teach and ask over HTTP."""
