//go:build linux

package submitter

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/sparkoperator/spark-operator/test/record/templates"
)

// templatesSource is the program that reads pod templates with the Kubernetes client of a Spark image.
//
//go:embed Templates.java
var templatesSource []byte

// Templates returns what Spark's parser makes of each of the templates. The JVM logs to log.
func (m *Machine) Templates(ctx context.Context, all []templates.Template, log io.Writer) ([]templates.Parsed, error) {
	var in, out bytes.Buffer
	number := func(n int) { in.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }
	number(len(all))

	for _, template := range all {
		number(len(template.Text))
		in.WriteString(template.Text)
	}

	if err := m.java(ctx, "Templates.java", templatesSource, &in, &out, log); err != nil {
		return nil, err
	}

	parsed := make([]templates.Parsed, len(all))
	for i := range parsed {
		var texts [2]string
		for j := range texts {
			var length uint32
			if err := binary.Read(&out, binary.BigEndian, &length); err != nil {
				return nil, fmt.Errorf("the result of template %s: %w", all[i].Name, err)
			}

			texts[j] = string(out.Next(int(length)))
		}

		result, err := templates.ParsedBy(texts[0], texts[1])
		if err != nil {
			return nil, fmt.Errorf("the result of template %s: %w", all[i].Name, err)
		}

		parsed[i] = result
	}
	return parsed, nil
}
