"""Mixed-precision training by hand: loss scales, a GradScaler, FP32 master weights.

Nothing is imported here: `loss_scale` needs nothing but Python, the other modules need torch.
"""
