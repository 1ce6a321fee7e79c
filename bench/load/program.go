package load

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Program is what a simulated driver does. It travels as the application's arguments and thereby through everything that the operator makes of them, so
// that nodes need no other word from the load.
type Program struct {
	Executors   int           // that the driver asks for
	Placed      bool          // they say their node
	Run         time.Duration // from when the executors were asked for until the driver ends
	ExecutorRun time.Duration // of each executor; 0 for as long as the driver's
	Exit        int32         // of the driver
}

// Arguments are a program as the arguments of an application, in the form that JSON has them.
func (p Program) Arguments() []any {
	out := []any{fmt.Sprintf("executors=%d", p.Executors), "run=" + p.Run.String(), fmt.Sprintf("exit=%d", p.Exit)}
	if p.ExecutorRun > 0 {
		out = append(out, "executor-run="+p.ExecutorRun.String())
	}
	if p.Placed {
		out = append(out, "placed=true")
	}
	return out
}

// ReadProgram finds a program among the arguments of a driver's container, which has Spark's own before them. Arguments of other names are not its
// business; a driver that has none of them runs for no time and ends well.
func ReadProgram(args []string) (p Program, err error) {
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		switch key {
		case "executors":
			p.Executors, err = strconv.Atoi(value)
		case "placed":
			p.Placed, err = strconv.ParseBool(value)
		case "run":
			p.Run, err = time.ParseDuration(value)
		case "executor-run":
			p.ExecutorRun, err = time.ParseDuration(value)
		case "exit":
			var code int64
			code, err = strconv.ParseInt(value, 10, 32)
			p.Exit = int32(code)
		}
		if err != nil {
			return Program{}, fmt.Errorf("argument %q: %w", arg, err)
		}
	}
	return p, nil
}
