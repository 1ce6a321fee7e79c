package native_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sparkoperator/spark-operator/spark/cmdline"
	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/native"
	"github.com/sparkoperator/spark-operator/test/record"
)

// recorded are the Spark versions with recordings, one for each supported line.
var recorded = []string{"3.5.9", "4.0.5", "4.1.4", "4.2.1", "4.3.0"}

// TestAgainstSparkSubmit compares the result of cmdline.Parse and Build with the objects that the real spark-submit of
// each Spark line sent for each case. Every difference must be in a list, with a reason. Entries of the lists that no
// longer match must be removed.
func TestAgainstSparkSubmit(t *testing.T) {
	cases, err := record.Cases("../testdata/cases")
	if err != nil {
		t.Fatal(err)
	}

	recordings, err := record.Load("../testdata/recordings")
	if err != nil {
		t.Fatal(err)
	}

	all := &tally{byReason: map[string]int{}, used: map[*listed]bool{}, refused: map[string]bool{}}
	for _, c := range cases {
		for _, version := range recorded {
			if !c.In(version) {
				continue
			}
			all.wanted++
			t.Run(c.Name+"/"+version, func(t *testing.T) {
				all.seen++

				r, ok := recordings[c.Name].Of(version)
				if !ok {
					t.Fatalf("not recorded; tools/record.sh %s %s", version, c.Name)
				}

				all.compareOne(t, c, version, r)
			})
		}
	}

	if all.seen == all.wanted {
		all.refuseStale(t)
	}

	all.tell(t, len(cases))
}

// tally counts the results of the comparisons.
type tally struct {
	wanted, seen, equal, unequal, bothRefuse, weRefuse, theyRefuse, gaps int
	// byReason counts the differences for each entry of intended. The set used contains the entries of all lists that
	// matched a difference or an error.
	byReason map[string]int
	used     map[*listed]bool
	// refused are the cases that both sides reject.
	refused map[string]bool
}

func (all *tally) compareOne(t *testing.T, c record.Case, version string, r record.Recording) {
	o, service, err := ours(c, version)
	switch {
	case err != nil && r.Error != "":
		all.bothRefuse++

		t.Logf("spark-submit: %s\nours: %v", r.Error, err)

		if wrong, ok := errors.AsType[*submit.Error](err); !ok || wrong.Message == "" ||
			(wrong.Key == "") == (wrong.Field == "") {
			t.Errorf("the refusal %q does not say what is wrong with what", err)
		} else if about := wrong.Key + wrong.Field; about != refusedFor[c.Name] {
			t.Errorf("refused for %s, want %s (refusedFor)", about, refusedFor[c.Name])
		}

		all.refused[c.Name] = true
		return
	case err != nil:
		all.weRefuse++

		l := all.allowed(t, "only Build refuses", weRefuse, c.Name, version, err.Error())
		if wrong, ok := errors.AsType[*submit.Error](err); !ok || l != nil &&
			wrong.NotNative != (l.reason == forRunner) {
			t.Errorf("NotNative is not as the list says: %v", err)
		}
		return
	case r.Error != "":
		all.theyRefuse++
		all.allowed(t, "only spark-submit refuses", theyRefuse, c.Name, version, r.Error)
		return
	}

	differences := compare(takeApart(t, recordedObjects(t, r)), takeApart(t, builtObjects(t, o, version, service)))

	same := true
	for _, d := range differences {
		if l := find(intended, c.Name, version, d.String()); l != nil {
			all.used[l] = true
			all.byReason[l.reason]++
			continue
		}

		same = false

		if l := find(gaps, c.Name, version, d.String()); l != nil {
			all.used[l] = true
			all.gaps++
			continue
		}

		t.Error(d)
	}

	if same {
		all.equal++
	} else {
		all.unequal++
	}
}

// allowed returns the entry of list for a case that only one side rejects. The parameter `message` is the error message
// of the side that rejects the case. If list has no such entry, allowed fails the test.
func (all *tally) allowed(t *testing.T, what string, list []listed, name, version, message string) *listed {
	t.Helper()

	l := find(list, name, version, message)
	if l == nil {
		t.Errorf("%s: %s", what, message)
		return nil
	}

	all.used[l] = true
	return l
}

// refuseStale fails the test for each entry of the lists that matches no case any more.
func (all *tally) refuseStale(t *testing.T) {
	for name := range refusedFor {
		if !all.refused[name] {
			t.Errorf("refusedFor: case %s is not refused by both any more: remove it", name)
		}
	}

	for name, list := range map[string][]listed{"intended": intended, "gaps": gaps, "weRefuse": weRefuse,
		"theyRefuse": theyRefuse} {
		for i := range list {
			if l := &list[i]; !all.used[l] {
				t.Errorf("%s: the entry %q (cases %q) matches nothing any more: remove it", name, l.text, l.cases)
			}
		}
	}
}

func (all *tally) tell(t *testing.T, cases int) {
	compared := all.equal + all.unequal
	t.Logf("%d cases, %d compared with a recording: %d built by both (%d equal but for what is intended, %d with gaps), %d refused by both, %d by Build alone, %d by spark-submit alone",
		cases, all.seen, compared, all.equal, all.unequal, all.bothRefuse, all.weRefuse, all.theyRefuse)

	for _, reason := range slices.Sorted(maps.Keys(all.byReason)) {
		t.Logf("%6d intended differences: %s", all.byReason[reason], reason)
	}

	t.Logf("%6d differences that are gaps, in %d entries", all.gaps, len(gaps))
}

// ours returns the result of cmdline.Parse and Build for a case, with the IDs that the recordings contain. The result
// service is the name of the driver's Service if that name contains an ID, else it is empty.
func ours(c record.Case, version string) (o submit.Objects, service string, err error) {
	r, _, err := cmdline.Parse(record.Arguments(c), submitter(c, version))
	if err != nil {
		return o, "", err
	}

	r.SparkVersion, r.AppID = version, record.AppID
	r.ResourceNamePrefix = submit.ResourceNamePrefix(appName(r), record.PrefixID)
	r.ConfigMapName = "spark-drv-" + record.ConfigMapID + "-conf-map"

	millis, err := strconv.ParseInt(record.SubmitTime, 10, 64)
	if err != nil {
		return o, "", fmt.Errorf("the recordings' time: %w", err)
	}

	r.SubmitTime = time.UnixMilli(millis)
	if name := submit.ServiceName(r.ResourceNamePrefix, r.AppID); !strings.HasPrefix(name, r.ResourceNamePrefix) {
		service = name
	}

	o, err = native.Build(r)
	return o, service, err
}

func appName(r submit.Request) string {
	name, _ := r.Conf.Get("spark.app.name")
	for _, other := range []string{r.MainClass, path.Base(r.Resource)} {
		if r.AppName == "" && name == "" {
			name = other
		}
	}

	if r.AppName != "" {
		return r.AppName
	}
	return name
}

// submitter returns the machine on which a case is submitted, with the same files and variables that the recorder uses.
func submitter(c record.Case, version string) cmdline.Submitter {
	files := map[string][]byte{}
	for name, text := range c.Files {
		files[path.Join(record.Dir, name)] = []byte(text)
	}

	for name, content := range c.Binary {
		files[path.Join(record.Dir, name)] = content
	}

	properties := map[string]string{"user.name": record.User}
	maps.Copy(properties, c.SystemProperties)
	return cmdline.Submitter{
		SparkVersion:     version,
		Environment:      record.Environment(c),
		SystemProperties: properties,
		WorkingDirectory: record.Dir,
		ReadFile: func(name string) ([]byte, error) {
			if content, ok := files[path.Clean(name)]; ok {
				return content, nil
			}
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		},
		ReadDir: func(name string) (map[string][]byte, error) {
			inside := map[string][]byte{}
			for file, content := range files {
				if path.Dir(file) == path.Clean(name) {
					inside[path.Base(file)] = content
				}
			}
			return inside, nil
		},
	}
}
