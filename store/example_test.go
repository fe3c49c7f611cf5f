package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/fakecluster/fakecluster/store"
)

// A client lists, then watches from the revision of the list. It misses no change in between.
func Example() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	colored := func(color string) store.Write {
		return store.Write{Make: func(revision int64) string {
			return fmt.Sprintf(`{"color":%q,"resourceVersion":"%d"}`, color, revision)
		}}
	}
	apple, _ := s.Create("/apples/1", colored("green"))
	apples, _ := s.List("/apples/", store.ListOptions{})

	s.Update(apple.Key, apple.Revision, colored("red"))
	_, err = s.Update(apple.Key, apple.Revision, colored("yellow"))
	var conflict *store.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(err)
	}

	cursor, _ := s.Watch("/apples/", apples.Revision)
	events, _ := cursor.Next(context.Background())
	for _, e := range events {
		fmt.Println(e.Type, e.Record.Key, e.Record.Value)
	}
	before, _ := s.GetAt("/apples/1", apples.Revision)
	fmt.Println("was", before.Value)

	// Output:
	// key "/apples/1": is at revision 3, the write expected 2
	// updated /apples/1 {"color":"red","resourceVersion":"3"}
	// was {"color":"green","resourceVersion":"2"}
}

// value returns a write that stores a text.
func value(text string) store.Write {
	return store.Write{Make: func(int64) string { return text }}
}

// A write commits only if its preconditions hold, together with updates of other keys.
func ExampleWrite() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	basket, _ := s.Create("/baskets/1", value("room for 1"))

	put := value("green")
	put.Before = []store.Update{{Key: basket.Key, Revision: basket.Revision, Make: func(int64) string { return "full" }}}
	s.Create("/apples/1", put)
	basket, _ = s.Get(basket.Key)
	fmt.Println(basket.Value)

	again := value("red")
	again.Require = []store.Precondition{{Key: "/apples/", Revision: basket.Revision, Prefix: true}}
	_, err = s.Create("/apples/2", again)
	var failed *store.PreconditionError
	fmt.Println(errors.As(err, &failed)) // an apple has been created since that revision
	// Output:
	// full
	// true
}

// A fork shares the past with its origin. Neither sees what is written to the other one later.
func ExampleStore_Fork() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	apple, _ := s.Create("/apples/1", value("green"))

	fork, err := s.Fork()
	if err != nil {
		log.Fatal(err)
	}
	defer fork.Close()
	fork.Update(apple.Key, apple.Revision, value("red"))

	here, _ := s.Get(apple.Key)
	there, _ := fork.Get(apple.Key)
	fmt.Println(here.Value, there.Value)
	// Output: green red
}

// A list in parts sees one state, whatever is written meanwhile. Scan decodes the records that are read only.
func ExampleStore_Scan() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	for _, name := range []string{"a", "b", "c"} {
		s.Create("/apples/"+name, value(name))
	}

	first, _ := s.Scan("/apples/", store.ListOptions{Limit: 2})
	s.Create("/apples/d", value("d"))
	rest, _ := s.Scan("/apples/", store.ListOptions{Revision: first.Revision, Start: first.Key(first.Len()-1) + "\x00"})
	fmt.Println(first.Len(), first.Remaining, rest.Len(), rest.Record(0).Value)
	// Output: 2 1 1 c
}

// What has been compacted cannot be read any more. Watches that run go on.
func ExampleStore_Compact() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	apple, _ := s.Create("/apples/1", value("green"))
	s.Update(apple.Key, apple.Revision, value("red"))
	if err := s.Compact(s.Revision()); err != nil {
		log.Fatal(err)
	}
	_, err = s.GetAt(apple.Key, apple.Revision)
	var compacted *store.CompactedError
	fmt.Println(errors.As(err, &compacted), compacted.Oldest)
	// Output: true 3
}

// A snapshot is a store as bytes, with its history.
func ExampleSnapshot() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	s.Create("/apples/1", value("green"))
	snapshot, err := s.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := snapshot.Write(&file, "made by an example"); err != nil {
		log.Fatal(err)
	}

	read, err := store.ReadSnapshot(&file)
	if err != nil {
		log.Fatal(err)
	}
	loaded, err := store.Load(read, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer loaded.Close()
	apple, _ := loaded.Get("/apples/1")
	fmt.Println(read.Meta(), loaded.Revision(), apple.Value)
	// Output: made by an example 2 green
}

// A store in a file goes on where the last one ended.
func ExampleOpenFile() {
	folder, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "data")
	for range 2 {
		s, err := store.OpenFile(name, store.Options{}, store.FileOptions{Sync: store.SyncAlways})
		if err != nil {
			log.Fatal(err)
		}
		_, err = s.Create("/apples/1", value("green"))
		var exists *store.ExistsError
		fmt.Println(s.Revision(), errors.As(err, &exists))
		s.Close()
	}
	// Output:
	// 2 false
	// 2 true
}
