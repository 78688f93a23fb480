package gateway

import (
	"context"
	"net/http"

	"github.com/sluiceci/sluice/pkg/edge"
	"github.com/sluiceci/sluice/pkg/fault"
)

// absent is the error of what is not there.
func absent(format string, args ...any) error {
	return &edge.Refusal{Status: http.StatusNotFound, Err: fault.New(fault.Invalid, format, args...)}
}

// inTheWay is the error of what is there, and not as it would have to be.
func inTheWay(err error) error { return &edge.Refusal{Status: http.StatusConflict, Err: err} }

// refuse answers an error: what it is, and what the sender can do.
func (g *gateway) refuse(_ context.Context, err error, w http.ResponseWriter) {
	status, _ := edge.Meaning(err)
	if status >= http.StatusInternalServerError {
		g.deps.Log.Error("cannot take a request", "err", err, "status", status)
	} else {
		g.deps.Log.Info("refused a request", "err", err, "status", status)
	}
	edge.Refuse(w, err)
}

// refuseDelivery is refuse for webhooks: what is denied there is a delivery that does not show who sent it.
func (g *gateway) refuseDelivery(ctx context.Context, err error, w http.ResponseWriter) {
	if status, _ := edge.Meaning(err); status == http.StatusForbidden {
		err = edge.Unknown(err)
	}
	g.refuse(ctx, err, w)
}
