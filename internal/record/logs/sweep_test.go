package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
	"github.com/sparkoperator/spark-operator/test/kit/stores"
)

// TestSweepOfEntriesWithSelectors checks which entry says how long the logs of a namespace stay, also if the namespace
// does not exist any more, and if several entries have the same store. Objects of others stay in any case.
func TestSweepOfEntriesWithSelectors(t *testing.T) {
	hours := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Hour} }

	shared, other := "file://"+t.TempDir(), "file://"+t.TempDir()
	labels := map[string]map[string]string{"short": {"tier": "short"}, "long": {"tier": "long"}, "forever": {"tier": "forever"}}

	for name, test := range map[string]struct {
		entries []keptlogs.Entry
		after   map[int]string // the namespaces that have logs after this number of hours
	}{
		"one store": {[]keptlogs.Entry{
			{Store: shared, NamespaceSelector: "tier=short", Retention: hours(2)}, {Store: shared, NamespaceSelector: "tier=long", Retention: hours(20)},
			{Store: other, NamespaceSelector: "tier=forever"},
		}, map[int]string{1: "[deleted forever long short]", 3: "[deleted forever long]", 21: "[]"}},
		"a store with logs that stay": {[]keptlogs.Entry{
			{Store: shared, NamespaceSelector: "tier=short", Retention: hours(2)}, {Store: shared, NamespaceSelector: "tier=forever"},
		}, map[int]string{1: "[deleted forever long short]", 3: "[deleted forever long]", 9999: "[deleted forever long]"}},
		// The entry for all namespaces once applied to a deleted namespace that another entry had selected.
		"a store with an entry for all namespaces": {[]keptlogs.Entry{
			{Store: shared, Retention: hours(2)}, {Store: shared, NamespaceSelector: "tier=long", Retention: hours(20)},
		}, map[int]string{1: "[deleted forever long short]", 3: "[deleted long]", 21: "[]"}},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := New(t.Context(), Options{Entries: test.entries, Labels: func(ns string) map[string]string { return labels[ns] }, Log: logr.Discard()})
			if err != nil {
				t.Fatal(err)
			}

			bucket := k.places.all[0].bucket
			foreign := []string{"short/pi/" + appUID + "/1/data.parquet", "short/eventLogs/app-1", "x/short/pi/" + appUID + "/1/driver.log.gz"}

			namespaces := []string{"deleted", "forever", "long", "short"}

			for _, key := range foreign {
				if err := bucket.Write(t.Context(), key, nil); err != nil {
					t.Fatal(err)
				}
			}

			for _, ns := range namespaces {
				for _, file := range []string{store.DriverFile, store.ExecutorFile("1"), store.ExecutorFile("pi-exec-a"), store.IndexFile} {
					if err := bucket.Write(t.Context(), store.Attempt{Namespace: ns, Name: "pi", UID: appUID, Number: 1}.Dir()+file, nil); err != nil {
						t.Fatal(err)
					}
				}
			}

			for _, after := range []int{1, 3, 21, 9999} {
				k.Sweep(t.Context(), time.Now().Add(time.Duration(after)*time.Hour))

				left := []string{}
				for _, ns := range namespaces {
					for object, err := range bucket.List(t.Context(), ns+"/pi/") {
						if err != nil {
							t.Fatal(err)
						}

						if store.IsOwn(object.Key) {
							left = append(left, ns)
							break
						}
					}
				}

				if want := test.after[after]; want != "" && fmt.Sprint(left) != want {
					t.Errorf("after %d hours, the logs of %v are left, want %s", after, left, want)
				}
			}

			for _, key := range foreign {
				if found, err := bucket.Read(t.Context(), key, 1); found == nil || err != nil {
					t.Errorf("%s of somebody else: %v, %v", key, found, err)
				}
			}
		})
	}
}

// TestSweepOfManyPages checks a sweep over more objects than an S3 server lists at once. It deletes the attempts whose
// retention is over, with the ages that the server reports, and nothing of the others.
func TestSweepOfManyPages(t *testing.T) {
	if testing.Short() {
		t.Skip("builds an S3 server")
	}

	const attempts, retention = 300, 2 * time.Hour
	root := t.TempDir()
	files := []string{store.DriverFile, store.ExecutorFile("1"), store.ExecutorFile("10"), store.IndexFile}
	folder := func(i int) string {
		return filepath.Join(root, "bucket", "logs", store.Attempt{Namespace: "ns", Name: fmt.Sprintf("pi-%03d", i), UID: appUID, Number: 1}.Dir())
	}

	for i := range attempts {
		if err := os.MkdirAll(folder(i), 0o755); err != nil {
			t.Fatal(err)
		}

		for _, file := range files {
			name, age := filepath.Join(folder(i), file), time.Duration(i%2)*2*retention
			if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
				t.Fatal(err)
			}

			if err := os.Chtimes(name, time.Now(), time.Now().Add(-age)); err != nil {
				t.Fatal(err)
			}
		}
	}

	entry := keptlogs.Entry{Store: stores.URL("bucket/logs", stores.S3(t, root)), Retention: &metav1.Duration{Duration: retention}}

	k, err := New(t.Context(), Options{Entries: []keptlogs.Entry{entry}, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}

	k.Sweep(t.Context(), time.Now())

	for i := range attempts {
		left, err := os.ReadDir(folder(i))
		if want := len(files) * (1 - i%2); len(left) != want || err != nil && want > 0 {
			t.Errorf("attempt %d has %d files, want %d: %v", i, len(left), want, err)
		}
	}
}
