package hostile

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// confs returns the cases of the maps that contain Spark configuration. The generator's field Keys contains the keys
// and the prefixes of keys that the operator reads. For a key, there is a case for each hostile text as the value of
// the key. For a prefix, each case adds as many keys with this prefix as the operator accepts.
func (g *Generator) confs(d *Definition) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		fields, _ := d.Fields()
		for _, f := range fields {
			if !f.IsConf() {
				continue
			}

			for i, key := range g.Keys {
				// The operator passes on most of hadoopConf, and the configuration in a schedule's template, without
				// reading them. The sample therefore contains only one in sixteen of these keys.
				passed := f.Last() == "hadoopConf" || d.Kind == "ScheduledSparkApplication"
				if !g.Thorough && passed && i%16 != 0 {
					continue
				}

				if !passed && g.shares() && (i+slices.Index(g.Definitions, d))%2 != 0 {
					continue
				}

				for _, c := range g.key(d, f, key, i) {
					if !yield(c) {
						return
					}
				}
			}
		}
	}
}

// key returns the cases of one Spark configuration key, or of a prefix of keys.
func (g *Generator) key(d *Definition, f *Field, key string, i int) []*Case {
	var all []*Case

	add := func(name string, entries func() map[string]string) {
		all = append(all, &Case{Definition: d, Field: f.String() + "[" + key + "]", Value: name, set: func(object tree) {
			conf := tree{}
			for k, v := range entries() {
				conf[k] = v
			}

			put(object, d.Schema, f.Path, merged(object, f.Path, conf))
		}})
	}
	if strings.HasSuffix(key, ".") {
		for j, suffix := range suffixes(key) {
			if !g.Thorough && (i+j)%3 != 0 {
				continue
			}

			count := mostEntries
			add(fmt.Sprintf("%d of %s", count, suffix), func() map[string]string {
				out := map[string]string{}
				for i := range count {
					out[key+strings.ReplaceAll(suffix, "#", strconv.Itoa(i))] = confValue(key, i)
				}
				return out
			})
		}
	}

	size := specSize
	if !g.Thorough {
		size = sampleSize
	}

	leaf := strings.TrimSuffix(key, ".")
	if leaf != key {
		leaf = key + "a"
	}

	worst := strs(f.Schema.AdditionalProperties.Schema, texts(true, size))
	for j, w := range worst {
		if g.Thorough || i%3 == 0 && j == i%len(worst) {
			add(w.Name, func() map[string]string { return map[string]string{leaf: w.Value().(string)} })
		}
	}
	return all
}

// confValue returns a short value that is valid for most of the keys with a prefix.
func confValue(key string, i int) string {
	if strings.Contains(key, "secretKeyRef") {
		return fmt.Sprintf("n%d:key", i)
	}
	return "/n" + strconv.Itoa(i)
}

// suffixes returns endings that, appended to a prefix, form configuration keys. Each # in an ending stands for a
// number.
func suffixes(key string) []string {
	all := []string{"n#", "n#.amount", "n#.n#.n#"}
	if strings.Contains(key, "volumes.") {
		for _, kind := range []string{"hostPath", "persistentVolumeClaim", "emptyDir", "nfs"} {
			all = append(all, kind+".n#.mount.path", kind+".n#.options.claimName", kind+".n.options.k#")
		}
	}
	return all
}

// merged returns a copy of the map at a path of an object. The copy also has the given additional entries.
func merged(object tree, path []string, more tree) tree {
	var at any = object
	for _, step := range path {
		inside, _ := at.(tree)
		at = inside[step]
	}

	out := tree{}
	if old, found := at.(tree); found {
		maps.Copy(out, old)
	}

	maps.Copy(out, more)
	return out
}
