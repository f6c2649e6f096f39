"""Volume controllers: claims get volumes, volumes follow their claims."""
