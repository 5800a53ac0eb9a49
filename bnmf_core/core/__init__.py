"""What everything else speaks of: data, factorizations, algorithms, models, errors."""
