package logs

import (
	"context"
	"fmt"
	"slices"

	"github.com/sparkoperator/spark-operator/internal/record/bucket"
	"github.com/sparkoperator/spark-operator/internal/record/capture"
	"github.com/sparkoperator/spark-operator/internal/record/retention"
	"github.com/sparkoperator/spark-operator/internal/record/store"
	"github.com/sparkoperator/spark-operator/internal/settings/keptlogs"
)

// place is an entry of the configuration, with its store.
type place struct {
	entry  *keptlogs.Entry
	store  store.Logs
	bucket *store.Bucket // nil for ConfigMaps
	redact func([]byte) []byte
}

// places are the entries of the configuration.
type places struct {
	entries []keptlogs.Entry
	// labels returns the labels of a namespace; nil if the namespace does not exist. Other namespaces have at least the
	// label with their name. It is nil if no entry has a selector.
	labels func(namespace string) map[string]string
	all    []place
}

// of returns the place of a namespace's logs; nil if its logs are not kept.
func (p *places) of(namespace string) *place {
	var labels map[string]string
	if p.labels != nil {
		labels = p.labels(namespace)
	}

	entry := keptlogs.Of(p.entries, labels)
	for i := range p.all {
		if p.all[i].entry == entry {
			return &p.all[i]
		}
	}
	return nil
}

// governs reports whether an entry says how long the logs of a namespace stay in its store. If the namespace was
// deleted, or if the entry that applies to it has another store, because the namespace has other labels now, the
// longest retention of the entries with this store counts.
func (p *places) governs(of *place, namespace string) bool {
	// The labels of a deleted namespace are not known, so each entry with the store may have applied to it.
	exists := p.labels == nil || p.labels(namespace) != nil

	if current := p.of(namespace); exists && current != nil && current.entry.Store == of.entry.Store {
		return current == of
	}
	return !slices.ContainsFunc(p.entries, func(other keptlogs.Entry) bool {
		return other.Store == of.entry.Store && (other.Retention == nil || other.Retention.Duration > of.entry.Retention.Duration)
	})
}

// expiring returns the entries whose logs are deleted some time.
func (p *places) expiring() (entries []retention.Entry) {
	for i := range p.all {
		of := &p.all[i]
		if of.bucket == nil || of.entry.Retention == nil {
			continue
		}

		entries = append(entries, retention.Entry{
			URL: of.entry.Store, Bucket: of.bucket, Retention: of.entry.Retention.Duration,
			Governs: func(namespace string) bool { return p.governs(of, namespace) },
		})
	}
	return entries
}

// Place returns the store of a namespace's records, or nil if they are kept in ConfigMaps. The result keeps is false if
// they are not kept.
func (k *Keeper) Place(namespace string) (bucket *store.Bucket, keeps bool) {
	if p := k.places.of(namespace); p != nil {
		return p.bucket, true
	}
	return nil, false
}

// hintsFor returns the texts of messages about the store that a field of the configuration names.
func hintsFor(setting string) bucket.Hints {
	return bucket.Hints{
		Setting: setting,
		AWS:     "give the operator's service account a role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the operator's environment",
		Google:  "give the operator's service account a Google service account, or set GOOGLE_APPLICATION_CREDENTIALS in the operator's environment",
		Azure:   "give the operator's service account a workload identity, or set AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY in the operator's environment",
	}
}

// openPlaces opens the stores of all entries. It sends no request, so an error is one of the configuration.
func openPlaces(ctx context.Context, entries []keptlogs.Entry, labels func(string) map[string]string, maps store.ConfigMaps) (*places, error) {
	p := &places{entries: entries, labels: labels}
	for i := range entries {
		next := place{entry: &entries[i], store: maps}
		if next.entry.Redact {
			next.redact = capture.Redacted
		}

		if next.entry.Store != "" {
			setting := fmt.Sprintf("logs[%d].store", i)

			opened, err := store.OpenBucket(ctx, next.entry.Store, hintsFor(setting))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", setting, err)
			}

			next.store, next.bucket = opened, opened
		}

		p.all = append(p.all, next)
	}
	return p, nil
}
