"""The same training under three engines: DDP, FSDP2 and DeepSpeed's ZeRO.

`python -m ampcourse.engines --engine ddp|fsdp|deepspeed --recipe NAME`, alone or under torchrun,
trains a network with the benchmark's recipes. `scenes` shows on two processes of this machine what
lesson 13 is about. Nothing here imports torch before it is used.
"""
