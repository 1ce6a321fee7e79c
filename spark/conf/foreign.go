package conf

import (
	"fmt"
	"slices"
	"strings"
)

// DropForeign deletes keys that are not Spark configuration, as spark-submit does. It returns one warning that covers
// all deleted keys, or an empty string if it deleted none.
func (c *Conf) DropForeign() (warning string) {
	foreign := slices.DeleteFunc(c.Keys(), func(key string) bool { return strings.HasPrefix(key, "spark.") })
	if len(foreign) == 0 {
		return ""
	}

	c.Delete(foreign...)
	const most = 5

	names := make([]string, 0, most)
	for _, key := range foreign[:min(len(foreign), most)] {
		names = append(names, Shorten(key))
	}

	text, verb := strings.Join(names, ", "), "are"
	if more := len(foreign) - len(names); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}

	if len(foreign) == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%s: %s left out: only keys that begin with spark. are Spark configuration", text, verb)
}
