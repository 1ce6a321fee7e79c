package scenario

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sparkoperator/spark-operator/bench/audit"
	"github.com/sparkoperator/spark-operator/bench/load"
)

// logSize is the size of the log of each driver in the scenario logs.
const logSize = 1 << 20

// The places of logs in the scenario logs, by the letters of Size.LogOrder.
const (
	noLogs     = "without"
	inBucket   = "S3"
	inMaps     = "ConfigMaps"
	logLetters = "wsc"
)

// logs compares operators that keep no logs with operators that keep them in an object store or in ConfigMaps. Each
// driver has a log of 1 MiB. Each operator carries three loads, the smallest first, because the peak of its memory is
// that since its start: applications one at a time, applications that are created at 4 a second, and applications that
// are created at once, so that many logs are read at the same time. Each load is deleted before the next one, because
// applications that have ended need memory, too.
func (r *rig) logs() {
	stop := r.startS3()
	defer stop()

	loads := []load.Class{
		{Name: ", one at a time", Count: max(3, r.Logs/10), Rate: 0.3}, {Name: "", Count: r.Logs, Rate: 4}, {Name: ", at once", Count: r.Logs},
	}

	results := map[string]*loadResult{}
	for _, letter := range r.LogOrder {
		place := []string{noLogs, inBucket, inMaps}[strings.IndexRune(logLetters, letter)]

		r.settings = map[string]string{
			noLogs: "", inMaps: "logs: [{}]\n",
			inBucket: fmt.Sprintf("logs: [{store: %q}]\n", "s3://logs?region=us-east-1&use_path_style=true&endpoint=http://"+r.s3),
		}[place]

		r.withProgram(audit.OperatorAgent, func(p *program) {
			for _, c := range loads {
				if results[place+c.Name] == nil {
					results[place+c.Name] = &loadResult{}
				}

				results[place+c.Name].merge(r.carryLogs(p, place, c))
			}
		})
	}

	for in, with := range results {
		r.note(in, *with)

		place, ofLoad, _ := strings.Cut(in, ",")
		if place == noLogs {
			continue
		}

		without := results[strings.TrimSuffix(noLogs+","+ofLoad, ",")]
		r.add(in, "CPU of a log", (with.cpu.Seconds()/float64(with.apps)-without.cpu.Seconds()/float64(without.apps))*1000, "ms")
		r.megabytes(in, "resident, peak, of logs", mean(with.peaks)-mean(without.peaks))
	}
}

// carryLogs carries a load of drivers with logs, checks how many logs the operator has kept, and deletes the load.
func (r *rig) carryLogs(p *program, place string, c load.Class) loadResult {
	in := place + c.Name
	c.Name, c.Executors, c.Run, c.Log = r.unusedName("logs"), 1, time.Second, logSize
	spec, before := singleClass(c), r.nodes.Logs()
	result := r.carry(p, spec)
	read, kept := r.nodes.Logs()-before, 0

	for _, app := range must(r.dyn.Resource(applications).Namespace(c.Name).List(r.ctx, metav1.ListOptions{})).Items {
		if at, _, _ := unstructured.NestedString(app.Object, "status", "operator", "logs", "keptAt"); at != "" {
			kept++
		}
	}

	want := c.Count
	if place == noLogs {
		want = 0
	}

	if kept != want || read < want || place == noLogs && read > 0 { // on a busy machine, a read can be repeated
		check(fmt.Errorf("the operator has kept %d logs and has read %d, instead of %d", kept, read, want))
	}

	if files := r.filesOf(c.Name); place == inBucket && files != want {
		check(fmt.Errorf("the store has %d logs, instead of %d", files, want))
	}

	r.run.Note("logs: %s: %.1f ms of CPU an application, %.1f MB at most", in, result.cpu.Seconds()*1000/float64(result.apps), float64(result.peak)/1e6)
	r.deleteApplications(spec.Namespaces()...)
	return result
}

// filesOf returns the number of logs of drivers that the store has of a namespace.
func (r *rig) filesOf(namespace string) int {
	return len(must(filepath.Glob(filepath.Join(r.dir, "s3", "logs", namespace, "*", "*", "*", "driver.log.gz"))))
}

func mean(values []int64) (sum int64) {
	for _, v := range values {
		sum += v
	}
	return sum / int64(max(1, len(values)))
}

// startS3 builds an S3 server and starts it with an empty bucket. It returns a function that ends the server.
func (r *rig) startS3() (stop func()) {
	const user, secret = "bench", "secret-of-the-bench"

	server, root := filepath.Join(r.dir, "s3-server"), filepath.Join(r.dir, "s3")
	build := exec.CommandContext(r.ctx, "go", "build", "-trimpath", "-o", server, "github.com/versity/versitygw/cmd/versitygw")

	build.Dir, build.Env = filepath.Join(r.Root, "tools/s3"), append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		check(fmt.Errorf("build the S3 server: %w\n%s", err, text))
	}

	check(os.MkdirAll(filepath.Join(root, "logs"), 0o755))

	r.s3 = freePorts(1)[0]
	r.env = []string{"AWS_ACCESS_KEY_ID=" + user, "AWS_SECRET_ACCESS_KEY=" + secret}

	ctx, cancel := context.WithCancel(r.ctx)
	cmd := exec.CommandContext(ctx, server, "--access", user, "--secret", secret, "--port", r.s3, "posix", root)
	check(cmd.Start())

	stop = func() {
		cancel()

		_ = cmd.Wait() // it was killed
	}

	up := false
	defer func() {
		if !up {
			stop()
		}
	}()

	r.waitFor("the S3 server", func() bool {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", r.s3)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})

	up = true
	return stop
}
