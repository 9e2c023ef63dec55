"""What each rank keeps of weights, gradients and optimizer state under the stages of ZeRO."""
