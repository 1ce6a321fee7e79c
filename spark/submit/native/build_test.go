package native_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/sparkoperator/spark-operator/spark/submit"
	"github.com/sparkoperator/spark-operator/spark/submit/internal/kit"
)

func TestBuildGolden(t *testing.T) {
	python := kit.Minimal()
	python.MainClass, python.Resource = "", "local:///opt/app/pi.py"
	python.Arguments = []string{"10", "a b", "$(HOME)", ""}
	python.Conf.Set("spark.executor.instances", "2")

	heavy := kit.HeavyRequest()
	heavy43 := kit.HeavyRequest()

	heavy43.SparkVersion = "4.3.0"
	for name, r := range map[string]submit.Request{"java-4.1": kit.Minimal(), "python-4.1": python, "heavy-4.1": heavy,
		"heavy-4.3": heavy43} {
		t.Run(name, func(t *testing.T) {
			o := kit.Build(t, r)

			var got []byte
			for _, object := range append(o.Before, o.Driver) {
				text, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}

				got = append(append(got, "---\n"...), text...)
			}

			path := filepath.Join("testdata", name+".yaml")
			if *kit.Update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}

			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("objects differ from %s (-want +got; run with -update to accept):\n%s", path, diff)
			}
		})
	}
}
