package detail

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sparkoperator/spark-operator/internal/cli/startup"
)

// maxRemembered is the largest number of bytes that a memory holds.
const maxRemembered = 8 << 20

// memory holds what no longer changes, so that a page that loads itself again does not read it again. If it is full, it
// drops what was not used for the longest time.
//
// An entry belongs to the credentials with which it was read. A user therefore never receives what another user has
// read. Rights can be revoked later, so the API server is asked about the user's right before each use of an entry.
type memory struct {
	mu      sync.Mutex
	entries map[version]*entry
	size    int
	uses    int
}

// version is a version of an object that a user has read. Without a resourceVersion, what was read of the object does
// not change with it.
type version struct {
	user            string // session.User.Key
	uid             types.UID
	resourceVersion string
}

// entry is what was read of a version.
type entry struct {
	value any
	size  int
	used  int
}

// recall returns what was read of a version, and whether something was.
func recall[T any](m *memory, v version) (value T, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()

	e := m.entries[v]
	if e == nil {
		return value, false
	}

	m.uses++
	e.used = m.uses
	value, known = e.value.(T)
	return value, known
}

// remember stores what was read of a version, with its size in bytes. Nobody may change the value afterwards.
func (m *memory) remember(v version, value any, size int) {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.entries == nil {
		m.entries = map[version]*entry{}
	}

	m.forget(v)
	m.uses++
	m.entries[v] = &entry{value, size, m.uses}

	for m.size += size; m.size > maxRemembered; {
		oldest := v
		for other, e := range m.entries {
			if e.used < m.entries[oldest].used {
				oldest = other
			}
		}

		m.forget(oldest)
	}
}

func (m *memory) forget(v version) {
	if e := m.entries[v]; e != nil {
		m.size -= e.size
		delete(m.entries, v)
	}
}

// startSize is about the size of the times of a start, with what the memory needs for an entry.
const startSize = 512

// readStart returns when Spark reached the steps of the start of a driver.
func (s *subject) readStart(driver *corev1.Pod) *startup.Times {
	v := version{user: s.Session.Key, uid: driver.UID}
	if times, known := recall[*startup.Times](&s.memory, v); known {
		if allowed, err := s.CanReadLog(s.ctx, driver.Namespace, driver.Name); allowed && err == nil {
			return times
		}
	}

	times, final := startup.Read(s.ctx, s.Client, driver, startPatience)
	if final {
		s.memory.remember(v, times, startSize)
	}
	return times
}

// configMaps reads ConfigMaps as a user. It reads only the metadata of a ConfigMap whose version the user has read
// before. It is the reader of one request, so it reads each ConfigMap at most once.
type configMaps struct {
	client.Reader
	*memory
	user string
	read map[client.ObjectKey]*answer
}

// answer is the answer to a request for a ConfigMap.
type answer struct {
	found *corev1.ConfigMap
	err   error
}

// Get implements client.Reader.
func (c *configMaps) Get(ctx context.Context, key client.ObjectKey, object client.Object, o ...client.GetOption) error {
	into, isConfigMap := object.(*corev1.ConfigMap)
	if !isConfigMap {
		return c.Reader.Get(ctx, key, object, o...)
	}

	a := c.read[key]
	if a == nil {
		a = &answer{}
		a.found, a.err = c.get(ctx, key)
		c.read[key] = a
	}

	if a.err == nil {
		a.found.DeepCopyInto(into)
	}
	return a.err
}

// get returns a ConfigMap, from the memory if the user has read its present version.
func (c *configMaps) get(ctx context.Context, key client.ObjectKey) (*corev1.ConfigMap, error) {
	head := &metav1.PartialObjectMetadata{}
	head.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))

	if err := c.Reader.Get(ctx, key, head); err != nil {
		return nil, err
	}

	if known, ok := recall[*corev1.ConfigMap](c.memory, version{c.user, head.UID, head.ResourceVersion}); ok {
		return known, nil
	}

	found := &corev1.ConfigMap{}
	if err := c.Reader.Get(ctx, key, found); err != nil {
		return nil, err
	}

	c.remember(version{c.user, found.UID, found.ResourceVersion}, found, found.Size())
	return found, nil
}
