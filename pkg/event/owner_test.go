package event_test

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/event"
)

func TestOwners(t *testing.T) {
	t.Parallel()
	of := func(p event.Payload) event.Event { return event.Root("r", "/x", at, p) }
	var o event.Owners
	end := of(event.TaskFinished{Task: "a", Attempt: 1, Pool: "gpu"})
	if believed, known := o.Believes(end); believed || known {
		t.Fatal("an attempt of nobody is believed")
	}
	o.Hear(of(event.TaskRequested{Task: "a", Pool: "linux"}))
	if believed, known := o.Believes(end); believed || !known {
		t.Fatal("another pool is believed")
	}
	for _, p := range []event.Payload{
		event.TaskStarted{Task: "a", Attempt: 1, Pool: "linux"},
		event.TaskFinished{Task: "a", Attempt: 2, Pool: "linux"},
		event.PlacesCreated{Task: "a", Attempt: 1, Pool: "linux"},
		event.PlacesDestroyed{Task: "a", Attempt: 1, Pool: "linux"},
		event.GateOpened{},
	} {
		if believed, _ := o.Believes(of(p)); !believed {
			t.Errorf("%#v is not believed", p)
		}
	}
}
