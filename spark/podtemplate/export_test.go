package podtemplate

// UnknownFields is unknownFields for external tests.
var UnknownFields = unknownFields
