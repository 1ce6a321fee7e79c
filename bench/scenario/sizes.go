package scenario

import (
	"time"

	"github.com/sparkoperator/spark-operator/bench/figure"
)

// Worlds of steps in a row: what one fills, the next starts an operator in.
const (
	fullOfLive     = "live"
	fullOfFinished = "finished"
)

// sizes are how large the scenarios are that ask what an operator can bear.
type sizes struct {
	levels                   []int
	probe                    int
	pressing                 int // lives at full rate
	finished                 int
	failovers                int
	deleted                  int
	hostilePods, hostileMaps int
	hostileProbe             int
	crowd                    int
}

// large is what the bars speak of.
var large = sizes{
	levels: []int{100, 1_000, 10_000}, probe: 100, pressing: 200, finished: 10_000, failovers: 3, deleted: 1_000, hostilePods: 50_000, hostileMaps: 1_000, hostileProbe: 20, crowd: 5_000,
}

// tiny says nothing about the operator, and within minutes that all of it can be measured.
var tiny = sizes{
	levels: []int{5, 10, 20}, probe: 8, pressing: 10, finished: 30, failovers: 1, deleted: 20, hostilePods: 200, hostileMaps: 10, hostileProbe: 4, crowd: 200,
}

// steps are these scenarios at a size, those that share a world one after the other.
func (z sizes) steps() []Step {
	top := z.levels[len(z.levels)-1]
	return []Step{
		{Name: figure.Standing, About: "up to " + figure.Count(top) + " live applications with five executors each", World: fullOfLive, Scheduler: true, Bodies: true,
			Limit: 40 * time.Minute, Do: Standing(z.levels, z.probe, z.pressing)},
		{Name: figure.ColdStart + "-live", About: "an operator starts with them there", World: fullOfLive, Scheduler: true, Bodies: true, Do: ColdStart("live")},
		{Name: figure.Finished, About: figure.Count(z.finished) + " applications that are over lie about", World: fullOfFinished, Scheduler: true, Bodies: true,
			Limit: 20 * time.Minute, Do: Finished(z.finished, z.probe, z.pressing)},
		{Name: figure.ColdStart + "-finished", About: "an operator starts with them there", World: fullOfFinished, Scheduler: true, Bodies: true, Do: ColdStart("finished")},
		{Name: figure.Failover, About: "the leader ends, another goes on", Scheduler: true, Do: Failover(z.failovers)},
		{Name: figure.Deletion, About: figure.Count(z.deleted) + " applications with running drivers are deleted at once", Scheduler: true, Limit: 15 * time.Minute, Do: Deletion(z.deleted)},
		{Name: figure.Fairness, About: "one application beside " + figure.Count(z.crowd) + " new ones of another namespace", Scheduler: true, Bodies: true, Limit: 15 * time.Minute, Do: Fairness(z.crowd)},
		{Name: figure.Hostile, About: "a namespace with " + figure.Count(z.hostilePods) + " unrelated pods and " + figure.Count(z.hostileMaps) + " large ConfigMaps", Scheduler: true,
			Limit: 20 * time.Minute, Do: Hostile(z.hostilePods, z.hostileMaps, z.hostileProbe)},
	}
}
