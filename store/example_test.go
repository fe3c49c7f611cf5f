package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/fakecluster/fakecluster/store"
)

// A client lists, then watches from the revision of the list. It misses no change in between.
func Example() {
	s, err := store.Open(store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	value := func(color string) store.Write {
		return store.Write{Make: func(revision int64) string {
			return fmt.Sprintf(`{"color":%q,"resourceVersion":"%d"}`, color, revision)
		}}
	}
	apple, _ := s.Create("/apples/1", value("green"))
	apples, _ := s.List("/apples/", store.ListOptions{})

	s.Update(apple.Key, apple.Revision, value("red"))
	_, err = s.Update(apple.Key, apple.Revision, value("yellow"))
	var conflict *store.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println(err)
	}

	cursor, _ := s.Watch("/apples/", apples.Revision)
	events, _ := cursor.Next(context.Background())
	for _, e := range events {
		fmt.Println(e.Type, e.Record.Key, e.Record.Value)
	}
	was, _ := s.GetAt("/apples/1", apples.Revision)
	fmt.Println("was", was.Value)

	// Output:
	// key "/apples/1": is at revision 3, the write expected 2
	// updated /apples/1 {"color":"red","resourceVersion":"3"}
	// was {"color":"green","resourceVersion":"2"}
}
