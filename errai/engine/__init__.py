"""The engine that walks (part of) a public tree: plans, workspaces and the CPU kernels."""
