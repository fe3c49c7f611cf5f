package crd

import (
	"container/list"
	"crypto/sha256"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
)

// schemaCacheSize bounds how many compiled schemas the process remembers.
const schemaCacheSize = 1024

// schemaID names the content of a schema.
type schemaID [sha256.Size]byte

func newSchemaID(raw string, preserveUnknown bool) schemaID {
	h := sha256.New()
	if preserveUnknown {
		h.Write([]byte{1})
	}
	h.Write([]byte(raw))
	return schemaID(h.Sum(nil))
}

// schemas remembers compiled schemas by their content, the ones used last. What
// it holds is immutable, so clusters share nothing through it but time.
var schemas = schemaCache{entries: map[schemaID]*list.Element{}}

type schemaCache struct {
	mu      sync.Mutex
	entries map[schemaID]*list.Element
	order   list.List // of cachedSchema, the latest used first
}

type cachedSchema struct {
	id     schemaID
	schema *compiledSchema
}

// compile returns the compiled form of the schema that id names. Two callers may
// compile the same schema at once; nobody waits for the other.
func (c *schemaCache) compile(id schemaID, props *apiextensions.JSONSchemaProps, preserveUnknown bool) (*compiledSchema, error) {
	if s := c.get(id); s != nil {
		return s, nil
	}
	s, err := compileSchema(props, preserveUnknown)
	if err != nil {
		return nil, err
	}
	c.put(id, s)
	return s, nil
}

func (c *schemaCache) get(id schemaID) *compiledSchema {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[id]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(cachedSchema).schema
}

func (c *schemaCache) put(id schemaID, s *compiledSchema) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[id] != nil {
		return
	}
	c.entries[id] = c.order.PushFront(cachedSchema{id, s})
	if c.order.Len() > schemaCacheSize {
		last := c.order.Remove(c.order.Back()).(cachedSchema)
		delete(c.entries, last.id)
	}
}
