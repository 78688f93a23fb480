package container_test

import (
	"testing"

	"github.com/sluiceci/sluice/pkg/driver"
	"github.com/sluiceci/sluice/pkg/driver/container"
	"github.com/sluiceci/sluice/pkg/driver/drivertest"
)

func open(t *testing.T, o container.Options) *container.Driver {
	t.Helper()
	e := newEngine(t)
	if o.Host == "" {
		o.Host = e.Host
	}
	if o.Image == "" {
		o.Image = e.Image
	}
	if o.Place == "" {
		o.Place = t.TempDir()
	}
	d, err := container.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestContainerConforms(t *testing.T) {
	d := open(t, container.Options{})
	drivertest.Run(t, func(t *testing.T) driver.Driver { return d })
}
