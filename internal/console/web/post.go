package web

import (
	"io"
	"mime"
	"net/http"
	"reflect"

	kjson "sigs.k8s.io/json"

	"github.com/sparkoperator/spark-operator/api/bounds"
)

// Post registers a function of /api/v1 that changes something. It receives the JSON of the request as the type In, and
// answers with the type Out, whose method Status can choose the status of HTTP. An empty body is an empty object.
func Post[In, Out any](s *Site, route Route, do func(*Request, In) (Out, error)) {
	s.Handle("POST /api/v1"+route.API, func(w http.ResponseWriter, r *Request) error {
		var in In
		if err := readJSON(r, &in); err != nil {
			return err
		}

		out, err := do(r, in)
		if err != nil {
			return err
		}

		status := http.StatusOK
		if chosen, ok := any(out).(interface{ Status() int }); ok {
			status = chosen.Status()
		}

		s.writeJSON(w, r.Request, status, out)
		return nil
	})
	addPost[In, Out](s.api, route)
}

// readJSON reads the body of a request. Its error names a field that is unknown or has a wrong type.
func readJSON(r *Request, into any) error {
	// A form of another site cannot send this type. The body of a form is already read, so that it would seem empty.
	given := r.Header.Get("Content-Type")
	kind, _, err := mime.ParseMediaType(given)

	isJSON := err == nil && kind == "application/json"
	if given != "" && !isJSON {
		return notJSON(given)
	}

	text, err := io.ReadAll(r.Body)
	if err != nil || len(text) == 0 {
		return err
	}

	if !isJSON {
		return notJSON("missing")
	}

	faults, err := kjson.UnmarshalStrict(text, into)
	if err == nil && len(faults) > 0 {
		err = faults[0]
	}

	if err != nil {
		return &Problem{Status: http.StatusBadRequest, Title: "The body is wrong", Why: bounds.Line(err.Error()), Do: "/api/v1/openapi.json has the fields."}
	}
	return nil
}

func notJSON(kind string) *Problem {
	return &Problem{
		Status: http.StatusUnsupportedMediaType, Title: "The body is not JSON", Why: "The Content-Type is " + bounds.Line(kind) + ".", Do: "Send application/json.",
	}
}

// addPost describes a route of Post. Its parameters are headers.
func addPost[In, Out any](d *document, route Route) {
	var parameters []anyMap
	for _, match := range placeholder.FindAllStringSubmatch(route.API, -1) {
		parameters = append(parameters, anyMap{"name": match[1], "in": "path", "required": true, "schema": anyMap{"type": "string"}})
	}

	for name, description := range route.Parameters {
		parameters = append(parameters, anyMap{"name": name, "in": "header", "description": description, "schema": anyMap{"type": "string"}})
	}

	content := func(t reflect.Type) anyMap { return anyMap{"application/json": anyMap{"schema": d.schema(t)}} }
	d.describe("/api/v1"+route.API, "post", anyMap{
		"summary": route.Summary, "parameters": parameters, "security": []anyMap{{"token": []string{}}},
		"requestBody": anyMap{"content": content(reflect.TypeFor[In]())},
		"responses":   anyMap{"2XX": anyMap{"description": route.Title, "content": content(reflect.TypeFor[Out]())}},
	})
}
