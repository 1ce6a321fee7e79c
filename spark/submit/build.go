package submit

// Build returns the objects of one submission. It is a pure function: the same request gives the same objects. A request that cannot
// work is refused with an *Error before anything exists.
func Build(r Request) (Objects, error) {
	return Objects{}, fieldError("Request", "not written yet")
}
