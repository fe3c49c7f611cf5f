package crd

import (
	"sync"
	"unsafe"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fakecluster/fakecluster/rest/resource"
	"github.com/fakecluster/fakecluster/store"
)

// definitionCodec is the codec of definitions. It remembers the few it has read
// or written last: a definition can be hundreds of kilobytes, and to establish it
// takes several looks at it.
type definitionCodec struct {
	*resource.TypedCodec

	mu   sync.Mutex
	last [8]rememberedDefinition
	next int
}

// rememberedDefinition is a definition under the very bytes it is stored as. It
// is never altered.
type rememberedDefinition struct {
	text string
	crd  *apiextensions.CustomResourceDefinition
}

// DecodeStored implements resource.Codec.
func (c *definitionCodec) DecodeStored(record store.Record) (runtime.Object, error) {
	if crd := c.recall(record.Value); crd != nil {
		return crd, nil
	}
	obj, err := c.TypedCodec.DecodeStored(record)
	if err != nil {
		return nil, err
	}
	c.Remember(record, obj)
	return obj, nil
}

// Remember implements resource.Rememberer.
func (c *definitionCodec) Remember(record store.Record, obj runtime.Object) {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[c.next%len(c.last)] = rememberedDefinition{record.Value, crd}
	c.next++
}

func (c *definitionCodec) recall(text string) *apiextensions.CustomResourceDefinition {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.last {
		// The same bytes in memory: equal ones elsewhere are not worth the look.
		if len(known.text) == len(text) && len(text) > 0 && unsafe.StringData(known.text) == unsafe.StringData(text) {
			return known.crd
		}
	}
	return nil
}

// EncodeToStore implements resource.Codec. A definition without stored versions
// gets those it has when it is read back from etcd.
func (c *definitionCodec) EncodeToStore(obj runtime.Object) ([]byte, error) {
	crd := obj.(*apiextensions.CustomResourceDefinition)
	if len(crd.Status.StoredVersions) == 0 {
		recordStorageVersion(crd)
	}
	return c.TypedCodec.EncodeToStore(crd)
}
