package console_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/api/sparkoperator/v1beta2"
	"github.com/sparkoperator/spark-operator/internal/kinds"
	"github.com/sparkoperator/spark-operator/test/kit"
	"github.com/sparkoperator/spark-operator/test/kit/scene"
)

// browsers is the number of open pages of TestFigures.
const browsers = 50

// TestFigures measures a console for a team, as a process of its own: the time from a change of a status to 50 open
// pages, the memory of the process, and its watches and requests. It prints the measurements of decision 63.
//
//	CONSOLE_FIGURES=1000,10000 go test ./internal/console -run TestFigures -v -timeout 30m
func TestFigures(t *testing.T) {
	sizes := os.Getenv("CONSOLE_FIGURES")
	if sizes == "" {
		t.Skip("takes minutes; CONSOLE_FIGURES=1000,10000 measures")
	}

	program := filepath.Join(t.TempDir(), "sparkctl")
	run(t, exec.Command("go", "build", "-trimpath", "-tags", "grpcnotrace,disable_grpc_modules", "-ldflags", "-s -w", "-o", program, "../../cmd/sparkctl"))

	w := scene.New(t)
	w.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: w.Namespace, Name: "viewer"}},
	})
	token := account(w, "viewer")
	existing := 0

	for text := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}

		fill(t, w, existing, size)
		existing = size
		measure(t, w, program, token, size)
	}
}

func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
}

// fill creates applications with a specification and a status of usual size.
func fill(t *testing.T, w *scene.World, from, to int) {
	t.Helper()

	conf := map[string]string{}
	for i := range 30 {
		conf[fmt.Sprintf("spark.hadoop.fs.s3a.option%02d", i)] = strings.Repeat("v", 60)
	}

	var group errgroup.Group
	group.SetLimit(16)

	for i := from; i < to; i++ {
		group.Go(func() error {
			app := &v1beta2.SparkApplication{
				ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: fmt.Sprintf("app-%05d", i), Labels: map[string]string{"team": fmt.Sprintf("team-%d", i%20), "pipeline": fmt.Sprintf("pipeline-%d", i%200)}},
				Spec: v1beta2.SparkApplicationSpec{
					Type: v1beta2.SparkApplicationTypeScala, SparkVersion: "4.1.4", Image: new("docker.io/apache/spark:4.1.4"), SparkConf: conf,
					MainClass: new("org.apache.spark.examples.SparkPi"), MainApplicationFile: "local:///opt/spark/examples/jars/spark-examples.jar",
				},
			}
			if err := w.API.Create(t.Context(), app); err != nil {
				return err
			}

			base := app.DeepCopy()
			app.Status.AppState = v1beta2.ApplicationState{State: v1beta2.ApplicationStateFailed, ErrorMessage: strings.Repeat("the executor was killed; ", 20)}
			return w.API.Status().Patch(t.Context(), app, client.MergeFrom(base))
		})
	}

	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// process is a console that runs.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	base string
}

// start starts a console for a team, without credentials of its own.
func start(t *testing.T, program string) *process {
	t.Helper()

	rc := kit.Rest(t)
	dir := t.TempDir()

	files := map[string][]byte{"ca.crt": rc.CAData, "console.yaml": fmt.Appendf(nil, "listen: 127.0.0.1:18099\nserver: %s\ncaFile: %s/ca.crt\n", rc.Host, dir)}
	if len(rc.CAData) == 0 {
		files["ca.crt"], _ = os.ReadFile(rc.CAFile)
	}

	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	p := &process{t: t, cmd: exec.Command(program, "console", "--config", filepath.Join(dir, "console.yaml")), base: "http://127.0.0.1:18099"}

	p.cmd.Env = append(os.Environ(), "GOGC=50", "GOMEMLIMIT=256MiB") // as the chart sets them
	p.cmd.Stderr = os.Stderr

	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(p.stop)
	kit.Wait(t, "the console", func(ctx context.Context) error {
		response, err := http.Get(p.base + "/healthz") //nolint:noctx // local
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	})
	return p
}

func (p *process) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// signIn returns the cookie of a new session.
func (p *process) signIn(token string) string {
	p.t.Helper()

	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

	response, err := c.PostForm(p.base+"/sign-in", url.Values{"token": {token}}) //nolint:noctx // local
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	if len(response.Cookies()) == 0 {
		p.t.Fatalf("the sign-in has the status %d", response.StatusCode)
	}
	return response.Cookies()[0].Name + "=" + response.Cookies()[0].Value
}

// memory returns the resident memory of the process and its peak in MB.
func (p *process) memory() (now, peak int) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	field := func(name string) int {
		match := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(text)
		if match == nil {
			return 0
		}

		n, _ := strconv.Atoi(string(match[1]))
		return n / 1000
	}
	return field("VmRSS"), field("VmHWM")
}

// pages are open pages, and when each of them has received a text.
type pages struct {
	mu   sync.Mutex
	seen map[string][]time.Time
	got  int // pages that have received their first event
	size int // of the last event
}

var mark = regexp.MustCompile(`mark-\d+-x`)

// open opens the events of a page.
func (p *process) open(ctx context.Context, cookie string, all *pages) {
	p.t.Helper()

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+"/events?sort=-name", nil)
	if err != nil {
		p.t.Fatal(err)
	}

	r.Header.Set("Cookie", cookie)

	//nolint:bodyclose // the reader of the stream closes it
	response, err := http.DefaultTransport.(*http.Transport).Clone().RoundTrip(r)
	if err != nil {
		p.t.Fatal(err)
	}

	go func() {
		defer func() { _ = response.Body.Close() }()

		first := true
		known := map[string]bool{}
		lines := bufio.NewReaderSize(response.Body, 1<<20)
		event := 0

		for {
			line, err := lines.ReadSlice('\n')
			if err != nil && err != bufio.ErrBufferFull { //nolint:errorlint // as ReadSlice returns it
				return
			}

			at := time.Now()
			event += len(line)

			all.mu.Lock()
			if first && bytes.HasPrefix(line, []byte("event: window")) {
				first = false
				all.got++
			}

			if len(line) == 1 {
				all.size, event = max(all.size, event), 0
			}

			for _, found := range mark.FindAll(line, -1) {
				if text := string(found); !known[text] {
					known[text] = true
					all.seen[text] = append(all.seen[text], at)
				}
			}
			all.mu.Unlock()
		}
	}()
}

// requests returns the API server's counters of watches that are open and of requests.
func requests(t *testing.T) (watches, total int) {
	t.Helper()

	rc := kit.Rest(t)

	c, err := kubernetes.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}

	text, err := c.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	sum := func(pattern string) (n int) {
		for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			value, _ := strconv.ParseFloat(string(match[1]), 64)
			n += int(value)
		}
		return n
	}
	return sum(`(?m)^apiserver_longrunning_requests\{[^}]*group="spark[^}]*verb="WATCH"[^}]*\} (\S+)`),
		sum(`(?m)^apiserver_request_total\{[^}]*(?:group="spark|group="authorization|group="authentication|resource="namespaces")[^}]*\} (\S+)`)
}

// measure measures a console with the given number of applications.
func measure(t *testing.T, w *scene.World, program, token string, size int) {
	t.Helper()

	p := start(t, program)
	defer p.stop()

	idle, _ := p.memory()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	watches, total := requests(t)
	all := &pages{seen: map[string][]time.Time{}}

	open := func(n int) {
		for range n {
			p.open(ctx, p.signIn(token), all)
		}

		kit.Wait(t, "the first events", func(context.Context) error {
			all.mu.Lock()
			defer all.mu.Unlock()

			if all.got < n {
				return fmt.Errorf("%d pages have them", all.got)
			}
			return nil
		})
	}

	open(1)
	time.Sleep(5 * time.Second) // a measurement, not a condition

	watches1, total1 := requests(t)

	open(browsers - 1)
	time.Sleep(5 * time.Second)

	_, total50 := requests(t)

	times := changes(t, w, all, size)
	watches50, _ := requests(t) // after the changes have arrived, all watches are open
	after, peak := p.memory()

	slices.Sort(times)

	at := func(part float64) time.Duration {
		return times[int(part*float64(len(times)-1))].Round(time.Millisecond)
	}

	began := time.Now()
	page := p.load(p.signIn(token))

	if at(0.99) > time.Second || watches50-watches > len(kinds.All) || after > 100 {
		t.Errorf("the slowest percent take %v, with %d watches and %d MB; bounds: 1 s, one watch a kind, 100 MB", at(0.99), watches50-watches, after)
	}

	fmt.Fprintf(os.Stdout, "| %d | %v | %v | %v | %d MB | %d MB | %d MB | %d | %d | %d | %d | %d kB | %d kB | %v |\n", size, at(0.5), at(0.99), at(1), idle, after, peak,
		watches1-watches, watches50-watches, total1-total, total50-total1, all.size/1000, page/1000, time.Since(began).Round(time.Millisecond))
}

// load loads the page of all objects and returns its compressed size.
func (p *process) load(cookie string) int {
	p.t.Helper()

	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+"/?sort=-name", nil)
	if err != nil {
		p.t.Fatal(err)
	}

	r.Header.Set("Cookie", cookie)
	r.Header.Set("Accept-Encoding", "gzip")

	response, err := http.DefaultClient.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()

	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		p.t.Fatalf("status %d: %v", response.StatusCode, err)
	}
	return len(text)
}

// changes changes applications on the first page at random intervals, and returns how long each change took to each
// open page.
func changes(t *testing.T, w *scene.World, all *pages, size int) (times []time.Duration) {
	t.Helper()

	const rounds = 60
	sent := map[string]time.Time{}

	for i := range rounds {
		text := fmt.Sprintf("mark-%d-x", i)

		app := w.Get(fmt.Sprintf("app-%05d", size-1-i%10))
		base := app.DeepCopy()
		app.Status.AppState.ErrorMessage = text
		sent[text] = time.Now()

		if err := w.API.Status().Patch(t.Context(), app, client.MergeFrom(base)); err != nil {
			t.Fatal(err)
		}

		time.Sleep(200*time.Millisecond + rand.N(900*time.Millisecond)) // the load of the measurement
	}

	for text, at := range sent {
		kit.Wait(t, text+" on all pages", func(context.Context) error {
			all.mu.Lock()
			defer all.mu.Unlock()

			if len(all.seen[text]) < browsers {
				return fmt.Errorf("%d pages have it", len(all.seen[text]))
			}
			return nil
		})

		for _, seen := range all.seen[text] {
			times = append(times, seen.Sub(at))
		}
	}
	return times
}
