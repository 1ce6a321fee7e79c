package main

import "runtime"

// cores is how many goroutines run at a time. Each event of a watch goes through several goroutines, each of which has some microseconds of work. While a second
// core may take them, Go wakes a thread for every one, which looks for work and sleeps again: that was a fifth of all CPU. One core carries tens of applications
// a second, several times what an API server does on two.
const cores = 1

// sizeCores says how many cores are used, unless somebody who runs the operator has said so by GOMAXPROCS.
func sizeCores(environment func(string) (string, bool)) {
	if value, found := environment("GOMAXPROCS"); found && value != "" {
		return
	}
	runtime.GOMAXPROCS(cores)
}
