"""The addresses behind Services: EndpointSlices, and Endpoints for clients that still read them."""
