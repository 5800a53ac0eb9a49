"""What the lessons of the dashboard show that takes longer to compute than a lesson may."""
