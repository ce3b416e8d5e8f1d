"""A budgeted delivery: plan, architecture, design, then implement, validate and review until it passes (seed S4)."""
