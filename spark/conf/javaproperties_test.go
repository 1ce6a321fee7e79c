package conf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadJavaOptions checks which words of JVM options are keys of Spark, and which have an unknown effect.
func TestReadJavaOptions(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]JavaProperties{
		``:                                  {},
		`-Xss1m -XX:+UseG1GC -Da=b -Dspark`: {},
		`-Dspark.a=b=c -Dspark.d`:           {Spark: []Property{{"spark.a", "b=c"}, {"spark.d", ""}}},
		`'-D'spark.a="b c"`:                 {Spark: []Property{{"spark.a", "b c"}}},
		`-Dspark.a.\b=c`:                    {Spark: []Property{{"spark.a.b", "c"}, {`spark.a.\b`, "c"}}},
		`--add-opens java.base/a=ALL-UNNAMED -Dspark.a=b`: {Spark: []Property{{"spark.a", "b"}}},
		`-cp -Dspark.a=b`: {Spark: []Property{{"spark.a", "b"}}},
		`-cp @a`:          {Unreadable: []string{"@a"}},
		`-Dspark.a=b @a -XX:Flags=b`: {Spark: []Property{{"spark.a", "b"}},
			Unreadable: []string{"@a", "-XX:Flags=b"}},
		`a.B -Dspark.c=d`:                  {Spark: []Property{{"spark.c", "d"}}, Unreadable: []string{"a.B"}},
		`-m a/b --module=c -D${spark.x}=y`: {Unreadable: []string{"-m", "a/b", "--module=c", "-D${spark.x}=y"}},
		`-Da=${spark.x}`:                   {},
	} {
		if diff := cmp.Diff(want, ReadJavaOptions(text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}

	if long := ReadJavaOptions(strings.Repeat("-a ", MaxJavaOptions)); len(long.Unreadable) != 1 {
		t.Errorf("long options have %d unreadable words", len(long.Unreadable))
	}

	if n := len(ReadJavaOptions(strings.Repeat("a ", 1000)).Unreadable); n != maxUnreadable {
		t.Errorf("%d unreadable words", n)
	}
}
