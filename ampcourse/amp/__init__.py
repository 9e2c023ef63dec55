"""Mixed precision by hand: loss scales, a GradScaler, FP32 masters, an autocast, Apex's levels.

Nothing is imported here: `loss_scale`, `op_policy` and `porting` need nothing but Python, most of
the other modules need torch.
"""
