"""What only a GPU needs: products on tensor cores, streaming from host memory, recorded training steps."""
