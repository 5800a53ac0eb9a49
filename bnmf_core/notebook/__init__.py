"""For Python users: a scikit-learn estimator, and the dashboard opened from a notebook."""
