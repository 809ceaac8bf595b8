"""Parts that several compared methods share; each method itself is one file in the folder above."""
