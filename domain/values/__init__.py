"""What everything else is made of: base shapes, text, strict JSON, time, spelling."""
