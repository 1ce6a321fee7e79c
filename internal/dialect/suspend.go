package dialect

// Suspended reports whether the field spec.suspend of a custom resource requests a suspension.
func Suspended(suspend *bool) bool { return suspend != nil && *suspend }
