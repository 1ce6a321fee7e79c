package main

import (
	"fmt"
	"io"
)

// report prints both ways side by side, and what the operator took.
func report(out io.Writer, apps int, op, direct result) {
	n := float64(apps)
	fmt.Fprintf(out, "\n%-34s %12s %12s\n", "", "operator", "direct")
	fmt.Fprintf(out, "%-34s %11.2fs %11.2fs\n", "all applications at the end", op.took.Seconds(), direct.took.Seconds())
	fmt.Fprintf(out, "%-34s %11.2fs\n", "  the last event after that", op.tail.Seconds())
	fmt.Fprintf(out, "%-34s %12.1f %12.1f\n", "applications a second", op.rate(apps), direct.rate(apps))
	fmt.Fprintf(out, "%-34s %12.2f\n", "  of the direct rate", op.rate(apps)/direct.rate(apps))
	fmt.Fprintf(out, "%-34s %12.2f\n", "operator's writes an application", float64(op.writes.total())/n)
	for _, kind := range op.writes.kinds() {
		fmt.Fprintf(out, "  %-32s %12.2f\n", kind, float64(op.writes[kind])/n)
	}
	cpu := op.loaded.cpu - op.idle.cpu
	fmt.Fprintf(out, "%-34s %9.2f ms\n", "operator's CPU an application", cpu.Seconds()*1000/n)
	fmt.Fprintf(out, "%-34s %9.1f MB\n", "operator resident, idle", float64(op.idle.resident)/1e6)
	fmt.Fprintf(out, "%-34s %9.1f MB\n", "operator resident, peak", float64(op.loaded.peak)/1e6)
}
