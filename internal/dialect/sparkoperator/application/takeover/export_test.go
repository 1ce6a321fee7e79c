package takeover

// Adopted is used by the tests of this package, which are outside of it because they make whole decisions.
var Adopted = adopted
