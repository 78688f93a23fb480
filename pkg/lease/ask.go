package lease

// Topic is that of the question for all places: Everything → []Place. The scheduler answers it.
const Topic = "places"

// Everything is the question for all places.
type Everything struct{}
